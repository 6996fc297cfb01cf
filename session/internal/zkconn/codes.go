package zkconn

import "github.com/troupe-go/troupe/internal/jute"

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
	jute.Unimplemented:           ErrUnsupported,
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
