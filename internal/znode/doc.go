// Package znode knows ZooKeeper's names: which paths are valid, how a name is protected with a
// GUID, and how the contenders of Troupe and of the other libraries are named and numbered. It is
// pure: values in, values out. Nothing in it panics, at any names that other clients have created.
//
// A contender's name, taken apart:
//
//	_c_f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-lease-3-0000000042
//	   └──────────────── GUID ────────────┘ └───┘ │ └──────┘ Seq, an int32
//	                                      Prefix  Weight
//
// The order of contenders is that of the numbers, and nothing else in a name counts. Where the
// numbers come near the end of int32, [NeedsCzxid] says that they tell no order any more.
package znode
