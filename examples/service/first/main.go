// First is the program with which docs/fx.md begins: a queue, and workers on it.
package main

import (
	"context"
	"fmt"

	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	_ "github.com/troupe-go/troupe/fxmodule/embedded" // a ZooKeeper server in this program, for development
	"github.com/troupe-go/troupe/recipes/queue"
)

// Letters are what the service sends. Named instances are asked for as fx has it, by a tag.
type Letters struct {
	fx.In
	Queue *queue.Queue `name:"letters"`
}

func main() {
	fx.New(
		fx.NopLogger,
		fxmodule.Module,
		fx.Supply(fxmodule.Config{Embedded: true}), // in production: Servers
		fxmodule.Queue("letters", "/letters"),
		fxmodule.Consume("letters", 4, func(_ context.Context, i *queue.Item) error {
			fmt.Println(string(i.Data()))
			return nil // the letter is done; an error returns it to the queue
		}),
		fx.Invoke(func(lc fx.Lifecycle, l Letters) {
			lc.Append(fx.StartHook(func(ctx context.Context) error {
				_, err := l.Queue.Put(ctx, []byte("Dear Ann"))
				return err
			}))
		}),
	).Run()
}
