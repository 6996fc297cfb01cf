// Package treefile reads and writes trees of znodes as text, in JSON or YAML: what `troupe server --load` takes and `--dump` leaves.
//
// A file maps paths to znodes:
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
// Every field may be left out: a znode without any has no data, an ACL that lets everybody do everything, and the usual kind. sequence is the number
// that the next sequential child gets, where that is not the number of children. Parents that the file doesn't name are made. Ephemerals are not in
// it, since their sessions aren't, nor are versions, zxids and times.
package treefile
