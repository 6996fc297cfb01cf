// Package naming is a name service: what a name means, for everybody.
//
//	names, err := naming.New(sess, "/names")
//	…
//	err = names.Bind(ctx, "db/orders/primary", []byte("10.0.0.7:5432"))
//	b, err := names.Lookup(ctx, "db/orders/primary")
//	for b := range names.Observe(ctx, "db/orders/primary") { … }   // the present binding, and then each newer one
//	all, err := names.List(ctx, "db")                              // db/orders/primary, db/orders/replica, …
//
// A name is a path, as ZooKeeper's recipe page has it: the znode of that path below the root, whose
// data are what the name means. A znode without data is there for those below it and means nothing.
//
// # What it guarantees
//
//   - Bindings are durable: they outlive whoever made them. For those that come and go with a
//     process see package group.
//   - [Names.Bind] and [Names.Unbind] are done once, or not: a lost answer is made up for by
//     looking.
//   - [IfFree] lets one of many win, and the others know.
//   - [Names.Observe] publishes whole states, absence and staleness included, follows through
//     expiries, and never goes back.
//   - [Names.Unbind] takes the znodes away that nobody needs any more, and never one that somebody
//     does.
//
// # The states of a name
//
//	            Bind                          Bind: another value
//	┌──────┐ ───────────▶ ┌───────┐ ───────────────┐
//	│ free │              │ bound │ ◀──────────────┘
//	└──────┘ ◀─────────── └───────┘
//	            Unbind
package naming
