package files

import (
	"net"
	"strings"

	"kith/backend/portal/frame"
	"kith/backend/store/tenantdb"
	"kith/core/importfile"
	"kith/core/operation"
)

// sftpData is the data of the page of SFTP keys.
type sftpData struct {
	*frame.Form
	Keys []tenantdb.SFTPKey
	// Command connects to the server, and HostKey is its fingerprint. Both are empty if this
	// process has no SFTP server.
	Command, HostKey string
	Prefixes         []importfile.Prefix
	// May is true if the caller may change the keys.
	May bool
}

func showSFTP(v *frame.Visit, f *frame.Form) error {
	if err := operation.ReadIntegrations.Require(v.Caller); err != nil {
		return err
	}
	keys, err := v.Engine.SFTPKeys.List(v.Ctx(), v.Caller.Tenant)
	if err != nil {
		return err
	}
	data := sftpData{Form: f, Keys: keys, Prefixes: importfile.Prefixes(), May: v.May(operation.AddSFTPKey)}
	if server := v.Engine.SFTPKeys.Server; server != nil {
		if host, port, err := net.SplitHostPort(server.Addr); err == nil {
			data.HostKey = server.HostKey
			data.Command = "sftp -P " + port + " " + string(v.Caller.Tenant) + "@" + strings.Trim(host, "[]")
		}
	}
	return v.Page(f.Status(), "sftp", "SFTP keys", data)
}

func addKey(v *frame.Visit) error {
	f := v.NewForm()
	err := frame.Confirmed(v, f, "password", func() error {
		_, err := v.Engine.Admin.SFTPKeys.Add(v.Ctx(), v.Caller, f.Value("key"))
		return err
	})
	if err != nil {
		return f.Again(v, err, map[string]string{"key": "The key", "password": "Your password"}, showSFTP)
	}
	return v.Done(v.SectionPath()+"/sftp", "key-added")
}

func removeKey(v *frame.Visit) error {
	if err := v.Engine.Admin.SFTPKeys.Remove(v.Ctx(), v.Caller, v.R.PostForm.Get("fingerprint")); err != nil {
		return err
	}
	return v.Done(v.SectionPath()+"/sftp", "key-removed")
}
