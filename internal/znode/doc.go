// Package znode knows ZooKeeper's names: what a path may look like, how a name is protected with a GUID, and how the contenders of Troupe and of the
// other libraries are named and numbered. It is pure: values in, values out.
package znode
