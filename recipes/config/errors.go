package config

import (
	"errors"
)

var (
	// ErrBadData: the data in ZooKeeper can't be decoded. [Cell.Update] then changes nothing, since
	// its function could not see what it replaces; write a valid value with session.Set.
	ErrBadData = errors.New("config: the data cannot be decoded")

	// ErrRecreated: while [Cell.Update] was writing, the znode was deleted and created again, and
	// happened to have the same version. The update was carried out, and replaced a value that its
	// function has not seen.
	ErrRecreated = errors.New("config: the znode was recreated during the update")
)
