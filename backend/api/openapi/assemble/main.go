// Command assemble writes the compressed OpenAPI document to standard output.
package main

import (
	"compress/gzip"
	"log"
	"os"

	"kith/backend/api/openapi"
)

func main() {
	if err := write(); err != nil {
		log.Fatal("assemble: ", err)
	}
}

func write() error {
	document, err := openapi.Assemble()
	if err != nil {
		return err
	}
	out, err := gzip.NewWriterLevel(os.Stdout, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := out.Write(document); err != nil {
		return err
	}
	return out.Close()
}
