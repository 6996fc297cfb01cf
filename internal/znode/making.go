package znode

import "context"

type makingKey struct{}

// Making is a context in whose requests znodes get this ACL where none is given for them, parents
// included; nil: the session's. Recipes put their calls into it.
func Making[ACL any](ctx context.Context, acl []ACL) context.Context {
	if acl == nil {
		return ctx
	}
	return context.WithValue(ctx, makingKey{}, acl)
}

// MadeWith is the ACL of [Making]; nil if there is none.
func MadeWith[ACL any](ctx context.Context) []ACL {
	acl, _ := ctx.Value(makingKey{}).([]ACL)
	return acl
}
