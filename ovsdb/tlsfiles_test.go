package ovsdb_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"

	"northwall/ovsdb"
)

// writeFiles writes what a program of a's needs into a directory, over what is there.
func (a *authority) writeFiles(dir, name string) ovsdb.TLSFiles {
	a.t.Helper()
	cert, key := a.issue(name)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	f := ovsdb.TLSFiles{PrivateKey: dir + "/" + name + ".key", Certificate: dir + "/" + name + ".pem", CACert: dir + "/ca.pem"}
	a.writePEM(f.PrivateKey, "EC PRIVATE KEY", der)
	a.writePEM(f.Certificate, "CERTIFICATE", cert.Certificate[0])
	a.writePEM(f.CACert, "CERTIFICATE", a.cert.Raw)
	return f
}

// TestReplacedFiles: a client goes on when all certificates are replaced by those of
// another authority while it runs.
func TestReplacedFiles(t *testing.T) {
	t.Parallel()
	needServer(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	dir := shortDir(t)
	old := newAuthority(t)
	f, of := old.writeFiles(dir, "client"), old.writeFiles(dir, "server")
	s := newServer(t, testSchemaJSON, "--remote=pssl:"+port+":127.0.0.1",
		"--private-key="+of.PrivateKey, "--certificate="+of.Certificate, "--ca-cert="+of.CACert)
	c := connected(t, ovsdb.Options{Remotes: []string{"ssl:127.0.0.1:" + port}, Tables: testTables(t), TLS: f.Config})
	epoch := c.Status().Epoch

	next := newAuthority(t)
	next.writeFiles(dir, "client")
	next.writeFiles(dir, "server")
	s.kill()
	s.start()
	until(t, "a new connection", func() bool { st := c.Status(); return st.Connected && st.Epoch > epoch })
	transact(t, c, func(txn *ovsdb.Txn) { txn.Insert("Thing", ovsdb.NewUUID()).String("name", "after") })
}

func TestTLSFiles(t *testing.T) {
	dir := t.TempDir()
	a, stranger := newAuthority(t), newAuthority(t)
	client := a.writeFiles(dir, "client")
	strangers := stranger.writeFiles(t.TempDir(), "server")
	server := a.writeFiles(dir, "server")
	for _, tt := range []struct {
		name   string
		server ovsdb.TLSFiles
		ca     string
		want   string // part of the error, "" for none
	}{
		{"signed by the CA", server, client.CACert, ""},
		{"signed by another", strangers, client.CACert, "unknown authority"},
		{"anything", strangers, "none", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pair, err := tls.LoadX509KeyPair(tt.server.Certificate, tt.server.PrivateKey)
			if err != nil {
				t.Fatal(err)
			}
			f := client
			f.CACert = tt.ca
			config, err := f.Config()
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				theirs, err := l.Accept()
				if err != nil {
					return
				}
				defer theirs.Close()
				_ = tls.Server(theirs, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}).Handshake()
			}()
			ours, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer ours.Close()
			err = tls.Client(ours, config).Handshake()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		name  string
		files ovsdb.TLSFiles
		want  string
	}{
		{"nothing", ovsdb.TLSFiles{}, "an ssl: address needs --private-key, --certificate and --ca-cert"},
		{"no CA", ovsdb.TLSFiles{PrivateKey: client.PrivateKey, Certificate: client.Certificate}, "an ssl: address needs"},
		{"a missing file", ovsdb.TLSFiles{PrivateKey: "/nosuch", Certificate: client.Certificate, CACert: "none"}, "/nosuch"},
		{"a pair half replaced", ovsdb.TLSFiles{PrivateKey: strangers.PrivateKey, Certificate: client.Certificate, CACert: "none"}, "private key does not match"},
		{"a CA that is none", ovsdb.TLSFiles{PrivateKey: client.PrivateKey, Certificate: client.Certificate, CACert: client.PrivateKey}, "no certificate in it"},
	} {
		if _, err := tt.files.Config(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestParseTLS(t *testing.T) {
	const v12, v13 = tls.VersionTLS12, tls.VersionTLS13
	for _, tt := range []struct {
		versions        string
		lowest, highest uint16
	}{
		{"TLSv1.2", v12, v12}, {"TLSv1.3", v13, v13}, {"TLSv1.2,TLSv1.3", v12, v13}, {"TLSv1.2-TLSv1.3", v12, v13},
		{"TLSv1.2+", v12, v13}, {"TLSv1.1", 0, 0}, {"", 0, 0},
	} {
		lowest, highest, err := ovsdb.ParseTLSVersions(tt.versions)
		if lowest != tt.lowest || highest != tt.highest || (err == nil) != (tt.lowest != 0) {
			t.Errorf("%s: got %x to %x, %v", tt.versions, lowest, highest, err)
		}
	}
	for name, want := range map[string]uint16{
		"ECDHE-RSA-AES128-GCM-SHA256": tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, "NULL-MD5": 0,
	} {
		got, err := ovsdb.ParseCiphers(name)
		if (err == nil) != (want != 0) || want != 0 && (len(got) != 1 || got[0] != want) {
			t.Errorf("%s: got %x, %v, want %x", name, got, err, want)
		}
	}
}
