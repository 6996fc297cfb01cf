// Package treefile reads and writes trees of znodes as text: what `troupe server --load` takes and
// `--dump` leaves. Both go piece by piece, so that a file may be larger than memory is to spare.
//
// There are three forms. JSON Lines has a znode on each line:
//
//	{"path":"/app","data":"hello"}
//	{"path":"/app/locks","kind":"container"}
//
// JSON and YAML have one object, which maps paths to znodes:
//
//	/app:
//	    data: hello
//	/app/picture:
//	    base64: iVBORw0KGgo=
//	    acl:
//	        - {perms: cdrwa, scheme: digest, id: "bob:WHD3ZrB3+FlTpTJfHDRkF0wYJdA="}
//	/app/jobs:
//	    sequence: 17
//	/app/locks:
//	    kind: container
//	/app/cache:
//	    kind: ttl
//	    ttl: 5m0s
//
// Every field may be left out: a znode without any has no data, an ACL that lets everybody do
// everything, and the usual kind. sequence is the number that the next sequential child gets, where
// that is not the number of children. Parents that the file doesn't name are made.
//
// A server's whole state has more: the zxid of the last transaction, the sessions, and for each
// znode its stat (what a stat leaves out is as the field before it, or 0) and, if it is ephemeral,
// its owner.
//
//	{"zxid":"0x1a00000007"}
//	{"session":"0x10001a4c0de0000","timeout":"10s","password":"…"}
//	{"path":"/app","data":"hello","stat":{"czxid":"0x1a00000002","mzxid":"0x1a00000005","ctime":1795334400000,"mtime":1795334401000,"version":1}}
//	{"path":"/app/e","owner":"0x10001a4c0de0000","stat":{"czxid":"0x1a00000007","ctime":1795334402000}}
//
// In the other forms the keys zxid and sessions, a list, stand beside the paths.
package treefile
