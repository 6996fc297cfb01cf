package jute

import "strconv"

// Code is the error code of a reply; 0 is success.
type Code int32

// The codes of ZooKeeper 3.8 and 3.9.
const (
	OK                      Code = 0
	SystemError             Code = -1
	RuntimeInconsistency    Code = -2
	DataInconsistency       Code = -3
	ConnectionLoss          Code = -4
	MarshallingError        Code = -5
	Unimplemented           Code = -6
	OperationTimeout        Code = -7
	BadArguments            Code = -8
	UnknownSession          Code = -12
	NewConfigNoQuorum       Code = -13
	ReconfigInProgress      Code = -14
	APIError                Code = -100
	NoNode                  Code = -101
	NoAuth                  Code = -102
	BadVersion              Code = -103
	NoChildrenForEphemerals Code = -108
	NodeExists              Code = -110
	NotEmpty                Code = -111
	SessionExpired          Code = -112
	InvalidCallback         Code = -113
	InvalidACL              Code = -114
	AuthFailed              Code = -115
	SessionMoved            Code = -118
	NotReadOnly             Code = -119
	EphemeralOnLocalSession Code = -120
	NoWatcher               Code = -121
	RequestTimeout          Code = -122
	ReconfigDisabled        Code = -123
	SessionClosedNoAuth     Code = -124
	QuotaExceeded           Code = -125
	ThrottledOp             Code = -127
)

var codeNames = map[Code]string{
	OK: "ok", SystemError: "system error", RuntimeInconsistency: "runtime inconsistency", DataInconsistency: "data inconsistency",
	ConnectionLoss: "connection loss", MarshallingError: "marshalling error", Unimplemented: "unimplemented",
	OperationTimeout: "operation timeout", BadArguments: "bad arguments", UnknownSession: "unknown session",
	NewConfigNoQuorum: "new config no quorum", ReconfigInProgress: "reconfig in progress", APIError: "api error",
	NoNode: "no node", NoAuth: "not authenticated", BadVersion: "bad version",
	NoChildrenForEphemerals: "no children for ephemerals", NodeExists: "node exists", NotEmpty: "not empty",
	SessionExpired: "session expired", InvalidCallback: "invalid callback", InvalidACL: "invalid acl", AuthFailed: "auth failed",
	SessionMoved: "session moved", NotReadOnly: "not read-only", EphemeralOnLocalSession: "ephemeral on local session",
	NoWatcher: "no watcher", RequestTimeout: "request timeout", ReconfigDisabled: "reconfig disabled",
	SessionClosedNoAuth: "connection closed for want of authentication",
	QuotaExceeded:       "quota exceeded", ThrottledOp: "throttled",
}

// Known tells whether ZooKeeper has the code.
func (c Code) Known() bool { return codeNames[c] != "" }

// String is the code's meaning in words, or its number.
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return "code " + strconv.Itoa(int(c))
}

// Error makes a Code usable as an error value. OK is not an error: use [Code.Err] to get nil for
// it.
func (c Code) Error() string { return "zookeeper: " + c.String() }

// Err is nil for OK and the code itself otherwise.
func (c Code) Err() error {
	if c == OK {
		return nil
	}
	return c
}
