package zkconn

// The sizes of what requests consist of, as encoded.
const (
	sizeHeader  = 4 + 4     // xid, operation
	sizeOpHead  = 4 + 1 + 4 // in front of each operation of a transaction, and at its end
	sizeVersion = 4
	sizeMode    = 4
	sizeTTL     = 8
)

func sizeText(s string) int { return 4 + len(s) }

func sizeData(b []byte) int { return 4 + len(b) }

func sizeACL(acl []ACL) int {
	n := 4
	for _, a := range acl {
		n += 4 + sizeText(a.Scheme) + sizeText(a.ID)
	}
	return n
}

// size is that of the operation's body.
func (op *Op) size() int {
	switch op.Kind {
	case OpCreate:
		n := sizeText(op.Path) + sizeData(op.Data) + sizeACL(op.ACL) + sizeMode
		if op.Mode == TTL || op.Mode == SequentialTTL {
			n += sizeTTL
		}
		return n
	case OpSet:
		return sizeText(op.Path) + sizeData(op.Data) + sizeVersion
	default:
		return sizeText(op.Path) + sizeVersion
	}
}

// Size is how large the transaction of these operations is for a server, which takes it if this is
// at most its jute.maxbuffer: see Config.MaxPacket. Size() is that of an empty one; each operation
// adds Size(op)-Size().
func Size(ops ...Op) int {
	n := sizeHeader + sizeOpHead
	for i := range ops {
		n += sizeOpHead + ops[i].size()
	}
	return n
}

// SizeAlone is how large the operation is for a server if it is sent by itself.
func SizeAlone(op Op) int { return sizeHeader + op.size() }
