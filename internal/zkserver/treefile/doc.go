// Package treefile reads and writes znodes as text: what `troupe server --load` takes and `--dump`
// leaves. The form is JSON Lines, a znode a line:
//
//	{"path":"/app","data":"hello"}
//	{"path":"/app/picture","base64":"iVBORw0KGgo=","acl":[{"perms":"cdrwa","scheme":"digest","id":"bob:WHD3ZrB3+FlTpTJfHDRkF0wYJdA="}]}
//	{"path":"/app/jobs","sequence":17}
//	{"path":"/app/locks","kind":"container"}
//	{"path":"/app/cache","kind":"ttl","ttl":"5m0s"}
//
// Every field but the path may be left out: a znode without any has no data, an ACL that lets
// everybody do everything, and the usual kind. sequence is the number that the next sequential
// child gets, where that is not the number of children. Parents that the file doesn't name are
// made.
//
// A server's whole state has more: the zxid of the last transaction, the sessions, and for each
// znode its stat and, if it is ephemeral, its owner.
//
//	{"zxid":"0x1a00000007"}
//	{"session":"0x10001a4c0de0000","timeout":"10s","password":"…"}
//	{"path":"/app/e","owner":"0x10001a4c0de0000","stat":{"czxid":"0x1a00000007","mzxid":"0x1a00000007","pzxid":"0x1a00000007","ctime":1795334402000,"mtime":1795334402000}}
package treefile
