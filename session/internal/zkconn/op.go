package zkconn

// OpKind says what an [Op] does.
type OpKind int32

// The kinds of operations.
const (
	OpCreate OpKind = 1
	OpDelete OpKind = 2
	OpSet    OpKind = 5
	OpCheck  OpKind = 13 // only checks the version
)

// Op is one operation of a transaction.
type Op struct {
	Kind    OpKind
	Path    string
	Data    []byte // of OpCreate and OpSet
	Version int32  // of OpSet, OpDelete and OpCheck; -1: any
	Mode    Mode   // of OpCreate; a transaction can't create containers or znodes with a time to live ([ErrUnsupported])
	ACL     []ACL  // of OpCreate
}

// Result is what came of one operation of a transaction.
type Result struct {
	Path string // of OpCreate: the path of the new znode, sequence number included
	Stat Stat   // of OpSet
	Err  error  // nil for all, or the cause for the one that failed, nil for those before it and [ErrRolledBack] for those behind it
}
