package zkconn

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

// Errors of a request without a reply.
var (
	// ErrDown: there is no connection. [Conn.Outage] says for how long.
	ErrDown = errors.New("no connection to ZooKeeper")
	// ErrNotSent: there is no connection. Nothing was sent: the request can be repeated freely.
	ErrNotSent = errors.New("not connected to ZooKeeper")
	// ErrNoReply: the request was sent, and the connection was lost before the reply. It may be
	// carried out, but not after a later Prove.
	ErrNoReply = errors.New("the connection to ZooKeeper was lost before the reply")
	// ErrCutOff is a kind of ErrNoReply: the server hung up right after this request, and had
	// answered other ones on this connection. This one may be the reason.
	ErrCutOff = fmt.Errorf("%w: the server closed the connection", ErrNoReply)
	// ErrEnded: the session is over or being closed. Nothing was sent.
	ErrEnded = errors.New("the ZooKeeper session is over")
)

var errUnimplemented = fmt.Errorf("%w by the server", ErrUnsupported)

// Why a session ended.
var (
	// ErrExpired: the server said that the session has expired. All its ephemeral znodes are gone.
	ErrExpired = &SharedError{text: "the ZooKeeper session has expired"}
	// ErrReplaced: the server gave another session instead of this one, without saying that this
	// one has expired. This session must be taken for expired.
	ErrReplaced = errors.New("the server replaced the ZooKeeper session with another")
	// ErrDataLoss: the servers have lost what the session, or one before it, has seen.
	ErrDataLoss = errors.New("the ZooKeeper ensemble has lost data that the session has seen")
	// ErrAuthRequired: the server is configured to insist on an authentication. It hangs up at
	// every request without.
	ErrAuthRequired = errors.New("the ZooKeeper server insists on authentication: it needs a credential that it accepts (enforce.auth.schemes, sessionRequireClientSASLAuth)")
	// ErrAuthFailed: the server refused a credential.
	ErrAuthFailed = &SharedError{text: "ZooKeeper refused a credential"}
)

// Errors that are definite: nothing was done. Some are found before the request is sent.
var (
	ErrNoNode                  = &SharedError{text: "the znode does not exist"}
	ErrNodeExists              = &SharedError{text: "the znode exists already"}
	ErrBadVersion              = &SharedError{text: "the znode has another version"}
	ErrNotEmpty                = &SharedError{text: "the znode has children"}
	ErrNoChildrenForEphemerals = &SharedError{text: "an ephemeral znode can't have children"}
	ErrNoAuth                  = &SharedError{text: "not permitted by the znode's ACL"}
	ErrInvalidACL              = &SharedError{text: "the ACL is not valid"}
	ErrInvalidPath             = &SharedError{text: "the path is not valid"}
	ErrBadArguments            = errors.New("the server does not accept the arguments")
	ErrUnsupported             = errors.New("not supported")
	ErrQuotaExceeded           = errors.New("a quota of ZooKeeper is exceeded")
	ErrThrottled               = errors.New("the server is overloaded and has not carried out the request")
	ErrRolledBack              = errors.New("not done, since another operation of the transaction failed")

	// ErrCalledOff: the condition of a request did not hold when it was about to be sent.
	ErrCalledOff = errors.New("called off before it was sent")

	// ErrLocalSession: the server gave a local session, which can have no ephemeral znodes, and is
	// configured not to upgrade it.
	ErrLocalSession = errors.New("the server gave a local session, and does not upgrade it: set localSessionsUpgradingEnabled=true, or localSessionsEnabled=false, on the servers")

	// ErrTooLarge: the request is larger than a server takes: than Config.MaxPacket, or by the
	// connections that were lost at such requests. Or the reply to a read is larger than sixteen
	// times MaxPacket.
	ErrTooLarge = errors.New("larger than the packet limit")
)

// SharedError is an error that another library has a value for too.
type SharedError struct {
	text  string
	other error
}

// Also tells that value, while packages are initialized.
func (v *SharedError) Also(other error) error {
	v.other = other
	return v
}

func (v *SharedError) Error() string { return v.text }

// Is lets errors.Is find that value.
func (v *SharedError) Is(target error) bool { return target == v.other }

// CodeError is an error code without an error value of its own. It is definite too.
type CodeError struct{ Code int32 }

// Error has the number of the code, and what it means.
func (e *CodeError) Error() string {
	text := fmt.Sprintf("ZooKeeper answered with error %d", e.Code)
	if meaning, ok := meanings[jute.Code(e.Code)]; ok {
		text += ": " + meaning
	}
	return text
}

// meanings are those of the codes without an error value, of ZooKeeper 3.8 and 3.9.
var meanings = map[jute.Code]string{
	jute.SystemError:        "something went wrong in the server; its log says what",
	jute.DataInconsistency:  "the server found its data inconsistent; its log says what",
	jute.MarshallingError:   "the server could not decode the request: it may be older than what was asked of it",
	jute.NewConfigNoQuorum:  "the new configuration has no quorum of servers that are up to date: start them first",
	jute.ReconfigInProgress: "another reconfiguration is in progress: try again when it is done",
	jute.APIError:           "the server takes the request for a mistake of its caller",
	jute.InvalidCallback:    "the client library was called wrongly",
	jute.NotReadOnly:        "the server has lost its quorum and serves reads only: the ensemble needs more than half of its servers",
	jute.NoWatcher:          "the server has no such watch",
	jute.ReconfigDisabled:   "reconfiguration is switched off: set reconfigEnabled=true on the servers",
}

// codeTooLarge stands for a reply that was too large to be decoded. No server uses it.
const codeTooLarge jute.Code = -9001

// verdicts are the error values of codes.
var verdicts = map[jute.Code]error{
	jute.OK:                      nil,
	jute.NoNode:                  ErrNoNode,
	jute.NodeExists:              ErrNodeExists,
	jute.BadVersion:              ErrBadVersion,
	jute.NotEmpty:                ErrNotEmpty,
	jute.NoChildrenForEphemerals: ErrNoChildrenForEphemerals,
	jute.NoAuth:                  ErrNoAuth,
	jute.AuthFailed:              ErrAuthFailed,
	jute.InvalidACL:              ErrInvalidACL,
	jute.EphemeralOnLocalSession: ErrLocalSession,
	jute.SessionClosedNoAuth:     ErrAuthRequired,
	jute.BadArguments:            ErrBadArguments,
	jute.Unimplemented:           errUnimplemented,
	jute.QuotaExceeded:           ErrQuotaExceeded,
	jute.ThrottledOp:             ErrThrottled,
	jute.RuntimeInconsistency:    ErrRolledBack,
	codeTooLarge:                 ErrTooLarge,
}

func verdict(code jute.Code) error {
	if err, ok := verdicts[code]; ok {
		return err
	}
	return &CodeError{Code: int32(code)}
}

// undecided tells whether a code leaves it open if the request was carried out, or if the session
// exists. The connection is then given up; the next one will show.
func undecided(code jute.Code) bool {
	switch code {
	case jute.ConnectionLoss, jute.OperationTimeout, jute.RequestTimeout, jute.UnknownSession, jute.SessionExpired, jute.SessionMoved:
		return true
	}
	return false
}

// rights are those that operations need: on the znode, or, where that is created or deleted, on its
// parent.
var rights = map[jute.Op][2]string{
	jute.OpCreate: {"create below", "CREATE"}, jute.OpCreate2: {"create below", "CREATE"}, jute.OpCreateContainer: {"create below", "CREATE"},
	jute.OpCreateTTL: {"create below", "CREATE"}, jute.OpDelete: {"delete below", "DELETE"}, jute.OpCheck: {"read", "READ"},
	jute.OpGetData: {"read", "READ"}, jute.OpExists: {"read", "READ"}, jute.OpGetChildren: {"read", "READ"}, jute.OpGetChildren2: {"read", "READ"},
	jute.OpSetData: {"write", "WRITE"}, jute.OpGetACL: {"read the ACL of", "READ or ADMIN"}, jute.OpSetACL: {"set the ACL of", "ADMIN"},
}

// verdict is the error of a code as the answer to an operation: the request, or a part of it. A
// refusal names the znode, the right, and the identities of the session.
func (r *request) verdict(ask *jute.Request, code jute.Code) error {
	right, known := rights[ask.Op]
	if code != jute.NoAuth || !known {
		return verdict(code)
	}
	at, as := ask.Path, "world:anyone"
	if strings.HasSuffix(right[0], " below") {
		at = path.Dir(at)
	}
	for _, c := range r.as {
		as += ", " + c.Scheme
		if user, _, found := bytes.Cut(c.Secret, []byte(":")); found && c.Scheme == "digest" {
			as += ":" + string(user)
		}
	}
	return fmt.Errorf("%w: %s %s needs %s; this session is %s", ErrNoAuth, right[0], at, right[1], as)
}
