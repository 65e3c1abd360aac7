package unixctl

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
)

// Call gives a command to the server listening on path, as ovs-appctl does.
func Call(ctx context.Context, path, command string, args ...string) (string, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return "", err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	params := make([]any, len(args))
	for i, a := range args {
		params[i] = a
	}
	if err := json.NewEncoder(c).Encode(request{ID: json.RawMessage("0"), Method: command, Params: params}); err != nil {
		return "", err
	}
	var r response
	if err := json.NewDecoder(c).Decode(&r); err != nil {
		return "", err
	}
	if r.Error != nil {
		return "", fmt.Errorf("%v", r.Error)
	}
	text, _ := r.Result.(string)
	return text, nil
}
