// Command edge is the Spin component that responds to visitors. It connects the
// handlers, in package serve, to the host, through package abi.
package main

import (
	"time"

	"kith/core"
	"kith/edge/abi"
	"kith/edge/serve"
)

func init() {
	edge := &serve.Edge{
		Variable: variable,
		Now:      func() core.Time { return core.Time(time.Now().UnixMilli()) },
	}
	abi.Prepare(edge.Prepare)
	abi.Handle(edge.Serve)
}

func main() {}
