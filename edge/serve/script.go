package serve

import (
	"kith/core/link"
	"kith/edge/abi"
	"kith/edge/script"
)

// file is the browser script. The build computes its version, since it initializes the component.
var file = link.NewScript(script.Text, script.Gzip)

// script returns the browser script.
func (r *request) script() (abi.Response, error) {
	answer, err := file.Answer(r.query, r.headers("accept-encoding", ","), r.headers("if-none-match", ","))
	if err != nil {
		return abi.Response{}, err
	}
	response := abi.Response{Status: answer.Status, Body: answer.Body}
	for _, h := range answer.Headers {
		response.Headers = append(response.Headers, abi.Header{Name: h[0], Value: h[1]})
	}
	return response, nil
}
