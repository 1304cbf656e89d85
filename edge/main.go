// Command edge is the Spin component that answers visitors. It only wires: what
// is answered is in serve, how bytes cross to the host in abi.
package main

import (
	"time"

	"kith/core"
	"kith/edge/abi"
	"kith/edge/serve"
)

func init() {
	edge := serve.Edge{
		Variable: variable,
		Now:      func() core.Time { return core.Time(time.Now().UnixMilli()) },
	}
	abi.Handle(edge.Serve)
}

func main() {}
