package nbctl

import "northwall/ovsdb/ctl"

const sslGroup = "SSL/TLS commands"

func sslCommands() []*ctl.Command {
	reads := ctl.Reading("NB_Global name ssl", "SSL private_key certificate ca_cert bootstrap_ca_cert")
	return []*ctl.Command{
		{Name: "get-ssl", Group: sslGroup, Help: "print the TLS configuration of the server", Example: "get-ssl", Reads: reads, ReadOnly: true,
			Run: func(c *ctl.Call) error {
				nb, err := existingGlobal(c)
				if err != nil || nb == nil {
					return err
				}
				for _, ssl := range nb.Refs("ssl") {
					bootstrap, _ := ssl.Bool("bootstrap_ca_cert")
					c.Printf("Private key: %s\nCertificate: %s\nCA Certificate: %s\nBootstrap: %t\n",
						ssl.Str("private_key"), ssl.Str("certificate"), ssl.Str("ca_cert"), bootstrap)
				}
				return nil
			}},
		{Name: "del-ssl", Group: sslGroup, Help: "delete the TLS configuration of the server", Example: "del-ssl", Reads: reads,
			Run: func(c *ctl.Call) error { return setSSL(c, nil) }},
		{Name: "set-ssl", Group: sslGroup, Args: "PRIVATE-KEY CERTIFICATE CA-CERT [PROTOCOLS [CIPHERS [CIPHERSUITES]]]", Min: 3, Max: 6,
			Options: []ctl.Option{ctl.Flag("bootstrap", "take the CA certificate from the first peer")},
			Help:    "set the TLS configuration of the server: names of files there", Example: "set-ssl /etc/ovn/key.pem /etc/ovn/cert.pem /etc/ovn/ca.pem",
			Reads: reads, Run: func(c *ctl.Call) error { return setSSL(c, c.Args) }},
	}
}

func setSSL(c *ctl.Call, args []string) error {
	nb, err := global(c.Tx)
	if err != nil {
		return err
	}
	for _, row := range nb.Refs("ssl") {
		row.Delete()
	}
	if args == nil {
		nb.Set("ssl", ctl.Datum{})
		return nil
	}
	ssl := c.Tx.Insert("SSL")
	for i, column := range []string{"private_key", "certificate", "ca_cert", "ssl_protocols", "ssl_ciphers", "ssl_ciphersuites"} {
		if i < len(args) {
			ssl.SetString(column, args[i])
		}
	}
	ssl.Set("bootstrap_ca_cert", ctl.Set(c.Has("bootstrap")))
	nb.Set("ssl", ctl.UUIDs(ssl.UUID))
	return nil
}
