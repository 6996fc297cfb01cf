// Package tree is ZooKeeper's data tree as a pure value: no clock, no lock, no I/O.
//
// A write happens in two steps, as in the real server. [Tree.Prepare] checks a request against the
// tree and turns it into changes, or into an error code; nothing is altered. [Tree.Apply] carries
// out a change that was checked and cannot fail. So changes can be queued, replayed on a copy that
// lags behind, and journaled.
//
//	request ── Prepare ──▶ []Change ── Apply ──▶ tree
//	              │
//	              └──▶ Code (nothing happens)
//
// Stats are exact to the field: Cversion is kept as the number of creations and shown as twice that
// minus the children, it sticks at 2147483647 and so does Pzxid then, as in 3.8. The root has two
// names, "" and "/", since it is the parent of "/a" under the first one.
package tree
