package link

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/jute"
)

// Codes of our own, that the library gets to see in place of an answer; no server uses them.
const (
	codeTooLarge jute.Code = -9001 // the answer was too large
	codeRefused  jute.Code = -9002 // the request came when the session was over
)

// errNoAnswer stands for all that the library says when no answer came.
var errNoAnswer = errors.New("no answer")

// verdicts are the errors of the codes that have one of their own.
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
	jute.Unimplemented:           ErrUnsupported,
	jute.QuotaExceeded:           ErrQuotaExceeded,
	jute.ThrottledOp:             ErrThrottled,
	jute.RuntimeInconsistency:    ErrRolledBack,
	codeTooLarge:                 ErrTooLarge,
	codeRefused:                  errNoAnswer,
}

// named are the codes for which the library has an error of its own.
var named = []struct {
	err  error
	code jute.Code
}{
	{zk.ErrNoNode, jute.NoNode},
	{zk.ErrNodeExists, jute.NodeExists},
	{zk.ErrBadVersion, jute.BadVersion},
	{zk.ErrNotEmpty, jute.NotEmpty},
	{zk.ErrNoChildrenForEphemerals, jute.NoChildrenForEphemerals},
	{zk.ErrNoAuth, jute.NoAuth},
	{zk.ErrAuthFailed, jute.AuthFailed},
	{zk.ErrInvalidACL, jute.InvalidACL},
	{zk.ErrBadArguments, jute.BadArguments},
	{zk.ErrAPIError, jute.APIError},
	{zk.ErrReconfigDisabled, jute.ReconfigDisabled},
}

// fromLibrary says what an error of the library means. It has names for a part of ZooKeeper's codes
// only; the others come as a text with a number.
func fromLibrary(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, zk.ErrInvalidPath) {
		return ErrInvalidPath
	}
	for _, n := range named {
		if errors.Is(err, n.err) {
			return verdict(n.code)
		}
	}
	if number, ok := strings.CutPrefix(err.Error(), "unknown error: "); ok {
		if code, err := strconv.ParseInt(number, 10, 32); err == nil {
			return verdict(jute.Code(code))
		}
	}
	return errNoAnswer
}

func verdict(code jute.Code) error {
	if err, ok := verdicts[code]; ok {
		return err
	}
	return &CodeError{Code: int32(code)}
}

// undecided tells of which codes a server leaves open whether the request was carried out, or says
// that the session is not what the client takes it for. The connection is then given up: the next
// one will tell.
func undecided(code jute.Code) bool {
	switch code {
	case jute.ConnectionLoss, jute.OperationTimeout, jute.RequestTimeout, jute.UnknownSession, jute.SessionExpired, jute.SessionMoved:
		return true
	}
	return false
}
