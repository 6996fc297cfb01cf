package recipe

import "github.com/troupe-go/troupe/internal/crash"

func init() {
	crash.Instance = func(instance, value any) { instance.(interface{ crash(value any) }).crash(value) }
}

func (h *Host) crash(value any) { h.ref.Tell(crashed{value}) }

func (i *Claims[P]) crash(value any) { i.claims.host.crash(value) }
