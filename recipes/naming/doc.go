// Package naming is a name service: a durable map from names to values that every process sees.
//
//	names, err := naming.New(sess, "/names")
//	…
//	err = names.Bind(ctx, "db/orders/primary", []byte("10.0.0.7:5432"))
//	b, err := names.Lookup(ctx, "db/orders/primary")
//	bindings := names.Observe(ctx, "db/orders/primary") // the current binding, then each newer one
//	all, err := names.List(ctx, "db")                   // db/orders/primary, db/orders/replica, …
//
// A name is a path, as on ZooKeeper's recipe page: the znode of that path below the root, whose
// data are the value. A znode without data exists only for the names below it and is not bound.
//
// # What it guarantees
//
//   - Bindings are durable: they outlive the process that made them. For entries that come and go
//     with a process see package group.
//   - [Names.Bind] and [Names.Unbind] are carried out once or not at all: a lost reply is resolved
//     by reading.
//   - With [WithoutReplacing], one of several concurrent binds succeeds, and the others get [ErrBound].
//   - [Names.Observe] publishes whole states, including absence and staleness, continues through
//     expiries, and never goes back.
//   - [Names.Unbind] also deletes the parent znodes that are no longer needed, and never one that
//     is.
//
// # The states of a name
//
//	            Bind                          Bind: another value
//	┌──────┐ ───────────▶ ┌───────┐ ───────────────┐
//	│ free │              │ bound │ ◀──────────────┘
//	└──────┘ ◀─────────── └───────┘
//	            Unbind
package naming
