// Package crash lets the tests of recipes make an actor panic, so that the public types have no
// method for it.
package crash

// Instance makes the actor of an instance panic with value, behind the messages that are in its
// mailbox. The instance is a *recipe.Host or a *recipe.Claims. Package recipe sets the function.
var Instance func(instance, value any)
