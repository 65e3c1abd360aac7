package main

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// becomeUser changes the user and group of the process: USER, :GROUP or USER:GROUP.
// What is not named stays. It is to be called before any file is made.
func becomeUser(spec string) error {
	name, group, hasGroup := strings.Cut(spec, ":")
	uid, gid := os.Getuid(), os.Getgid()
	groups := []int{gid}
	if hasGroup {
		g, err := user.LookupGroup(group)
		if err != nil {
			return err
		}
		if gid, err = strconv.Atoi(g.Gid); err != nil {
			return err
		}
		groups = []int{gid}
	}
	if name != "" {
		u, err := user.Lookup(name)
		if err != nil {
			return err
		}
		if uid, err = strconv.Atoi(u.Uid); err != nil {
			return err
		}
		ids, err := u.GroupIds()
		if err != nil {
			return err
		}
		for _, id := range ids {
			if n, err := strconv.Atoi(id); err == nil {
				groups = append(groups, n)
			}
		}
	}
	if os.Geteuid() != 0 {
		// As a child of one that has done it, or started by that user.
		if uid == os.Getuid() && gid == os.Getgid() {
			return nil
		}
		return fmt.Errorf("only root may become %s", spec)
	}
	if err := syscall.Setgroups(groups); err != nil {
		return err
	}
	if err := syscall.Setgid(gid); err != nil {
		return err
	}
	return syscall.Setuid(uid)
}
