package serve

import (
	"kith/core/link"
	"kith/edge/abi"
	"kith/edge/script"
)

// script returns the browser script.
func (r *request) script() (abi.Response, error) {
	file := link.Script{Text: script.Text, Gzip: script.Gzip}
	answer, err := file.Answer(r.query, r.headers("accept-encoding", ","), r.headers("if-none-match", ","))
	if err != nil {
		return abi.Response{}, err
	}
	response := abi.Response{Status: answer.Status, Body: []byte(answer.Body)}
	for _, h := range answer.Headers {
		response.Headers = append(response.Headers, abi.Header{Name: h[0], Value: h[1]})
	}
	return response, nil
}
