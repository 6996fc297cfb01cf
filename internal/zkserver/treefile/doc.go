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
package treefile
