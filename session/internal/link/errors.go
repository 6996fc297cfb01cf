package link

import (
	"errors"
	"fmt"
)

// What may come of a request instead of an answer.
var (
	// ErrNotSent: there is no connection with the session at this moment. Nothing was sent: the request may be repeated freely.
	ErrNotSent = errors.New("not connected to ZooKeeper")
	// ErrNoReply: the request was sent, and the connection went before the answer came. It may or may not have been carried out.
	ErrNoReply = errors.New("the connection to ZooKeeper went before the answer came")
	// ErrEnded: the session is over or being closed. Nothing was sent, and nothing will be.
	ErrEnded = errors.New("the ZooKeeper session is over")
)

// Why a session ended.
var (
	// ErrExpired: the server said that the session has expired. All its ephemeral znodes are gone.
	ErrExpired = errors.New("the ZooKeeper session has expired")
	// ErrReplaced: the server handed out another session instead of this one, without saying that this one has expired. It must be taken for
	// expired.
	ErrReplaced = errors.New("the server replaced the ZooKeeper session by another")
	// ErrAuthFailed: the server refused a credential.
	ErrAuthFailed = errors.New("ZooKeeper refused a credential")
)

// What a server, or a look at the request, says against a request. All of these are definite: nothing was done.
var (
	ErrNoNode                  = errors.New("the znode does not exist")
	ErrNodeExists              = errors.New("the znode exists already")
	ErrBadVersion              = errors.New("the znode has another version")
	ErrNotEmpty                = errors.New("the znode has children")
	ErrNoChildrenForEphemerals = errors.New("an ephemeral znode can't have children")
	ErrNoAuth                  = errors.New("not permitted by the znode's ACL")
	ErrInvalidACL              = errors.New("the ACL is not valid")
	ErrInvalidPath             = errors.New("the path is not valid")
	ErrBadArguments            = errors.New("the server does not accept the arguments")
	ErrUnsupported             = errors.New("the server does not support the operation")
	ErrQuotaExceeded           = errors.New("a quota of ZooKeeper is exceeded")
	ErrThrottled               = errors.New("the server is overloaded and has not carried out the request")
	ErrRolledBack              = errors.New("not done, since another operation of the transaction failed")

	// ErrTooLarge: the request is larger than a server takes (found before it is sent), or the answer to a read is larger than sixteen times that.
	ErrTooLarge = errors.New("larger than the largest packet")
)

// CodeError is an answer for which there is no error value of its own: definite too.
type CodeError struct{ Code int32 }

// Error names the code as ZooKeeper numbers it.
func (e *CodeError) Error() string { return fmt.Sprintf("ZooKeeper answered with error %d", e.Code) }
