package zkserver

// cut is a partition between a client and all servers.
type cut struct {
	*gate
	in, out bool
}
