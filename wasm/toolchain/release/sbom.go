package main

import (
	"bytes"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/rs/zerolog"
)

// sboms writes a list of the software in each binary, as CycloneDX.
func (r *release) sboms() error {
	for _, t := range targets {
		if err := r.sbom(t); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) sbom(t target) error {
	generator, err := bin.NewGenerator(r.path(t.binary()), bin.WithLogger(zerolog.Nop()), bin.WithIncludeStdlib(true), bin.WithVersionOverride("v"+r.version))
	if err != nil {
		return err
	}
	bom, err := generator.Generate()
	if err != nil {
		return err
	}
	bom.Metadata.Timestamp = r.commit.Format(time.RFC3339)
	named := map[string]int{}
	for i, c := range *bom.Components {
		named[c.Name] = i
	}
	for _, p := range r.parts {
		ids, err := p.spdx()
		if err != nil {
			return err
		}
		i, linked := named[p.name]
		if !linked {
			if p.purl == "" {
				continue // a module of another target
			}
			i = len(*bom.Components)
			*bom.Components = append(*bom.Components, cdx.Component{BOMRef: p.purl, Type: cdx.ComponentTypeLibrary, Name: p.name, Version: p.version, PackageURL: p.purl})
		}
		if len(ids) > 0 {
			var licenses cdx.Licenses
			for _, id := range ids {
				licenses = append(licenses, cdx.LicenseChoice{License: &cdx.License{ID: id}})
			}
			(*bom.Components)[i].Licenses = &licenses
		}
	}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return r.write(t.binary()+".cdx.json", out.Bytes())
}
