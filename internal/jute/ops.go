package jute

import "strconv"

// Op is the number of an operation.
type Op int32

// The operations of ZooKeeper 3.8.
const (
	OpNotification    Op = 0
	OpCreate          Op = 1
	OpDelete          Op = 2
	OpExists          Op = 3
	OpGetData         Op = 4
	OpSetData         Op = 5
	OpGetACL          Op = 6
	OpSetACL          Op = 7
	OpGetChildren     Op = 8
	OpSync            Op = 9
	OpPing            Op = 11
	OpGetChildren2    Op = 12
	OpCheck           Op = 13
	OpMulti           Op = 14
	OpCreate2         Op = 15
	OpReconfig        Op = 16
	OpCheckWatches    Op = 17
	OpRemoveWatches   Op = 18
	OpCreateContainer Op = 19
	OpDeleteContainer Op = 20
	OpCreateTTL       Op = 21
	OpMultiRead       Op = 22
	OpSetAuth         Op = 100
	OpSetWatches      Op = 101
	OpSASL            Op = 102
	OpGetEphemerals   Op = 103
	OpCountChildren   Op = 104 // getAllChildrenNumber
	OpSetWatches2     Op = 105
	OpAddWatch        Op = 106
	OpWhoAmI          Op = 107
	OpCreateSession   Op = -10
	OpCloseSession    Op = -11
	OpError           Op = -1
)

var opNames = map[Op]string{
	OpNotification: "notification", OpCreate: "create", OpDelete: "delete", OpExists: "exists", OpGetData: "getData",
	OpSetData: "setData", OpGetACL: "getACL", OpSetACL: "setACL", OpGetChildren: "getChildren", OpSync: "sync",
	OpPing: "ping", OpGetChildren2: "getChildren2", OpCheck: "check", OpMulti: "multi", OpCreate2: "create2",
	OpReconfig: "reconfig", OpCheckWatches: "checkWatches", OpRemoveWatches: "removeWatches",
	OpCreateContainer: "createContainer", OpDeleteContainer: "deleteContainer", OpCreateTTL: "createTTL",
	OpMultiRead: "multiRead", OpSetAuth: "setAuth", OpSetWatches: "setWatches", OpSASL: "sasl",
	OpGetEphemerals: "getEphemerals", OpCountChildren: "getAllChildrenNumber", OpSetWatches2: "setWatches2",
	OpAddWatch: "addWatch", OpWhoAmI: "whoAmI", OpCreateSession: "createSession", OpCloseSession: "closeSession",
	OpError: "error",
}

// String is the name that ZooKeeper gives the operation, or its number.
func (o Op) String() string {
	if name, ok := opNames[o]; ok {
		return name
	}
	return "op" + strconv.Itoa(int(o))
}

// Writes reports whether the operation goes through the leader and takes a transaction number,
// whether it succeeds or not.
func (o Op) Writes() bool {
	switch o {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpDeleteContainer, OpSetData, OpSetACL, OpMulti, OpCheck,
		OpReconfig, OpCreateSession, OpCloseSession:
		return true
	}
	return false
}

// The flags of a create: the mode of the znode.
const (
	FlagPersistent              int32 = 0
	FlagEphemeral               int32 = 1
	FlagSequential              int32 = 2
	FlagEphemeralSequential     int32 = 3
	FlagContainer               int32 = 4
	FlagPersistentTTL           int32 = 5
	FlagPersistentSequentialTTL int32 = 6
)

// Xids with a meaning of their own.
const (
	XidEvent      int32 = -1
	XidPing       int32 = -2
	XidAuth       int32 = -4
	XidSetWatches int32 = -8
)

// DefaultMaxPacket is the server's default limit for a frame's body (jute.maxbuffer).
const DefaultMaxPacket = 0xfffff
