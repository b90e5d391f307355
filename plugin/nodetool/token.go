// SPDX-License-Identifier: Apache-2.0

package nodetool

import (
	"cmp"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// withToken passes the user's --token to kubectl in a kubeconfig that only this user can read: the
// arguments of a process are visible to every user of the machine. remove deletes the file.
func (o *options) withToken() (remove func(), err error) {
	remove = func() {}
	if o.token == "" {
		return remove, nil
	}
	raw, err := o.d.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return remove, fmt.Errorf("read kubeconfig: %w", err)
	}
	config := raw.DeepCopy()
	name := ""
	if current := config.Contexts[o.d.Context()]; current != nil {
		name = current.AuthInfo
	}
	if given := o.d.Flags.AuthInfoName; given != nil {
		name = cmp.Or(*given, name)
	}
	name = cmp.Or(name, "kubectl-scylla")
	user := config.AuthInfos[name]
	if user == nil {
		user = clientcmdapi.NewAuthInfo()
		config.AuthInfos[name] = user
	}
	user.Token, user.TokenFile = o.token, ""
	text, err := clientcmd.Write(*config)
	if err != nil {
		return remove, fmt.Errorf("encode kubeconfig: %w", err)
	}
	f, err := os.CreateTemp("", "kubectl-scylla-*.kubeconfig") // mode 0600
	if err != nil {
		return remove, fmt.Errorf("create a kubeconfig with the token: %w", err)
	}
	remove = func() { _ = os.Remove(f.Name()) }
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		remove()
		return func() {}, fmt.Errorf("write a kubeconfig with the token: %w", err)
	}
	o.flags = append(o.flags, "--kubeconfig="+f.Name(), "--user="+name)
	return remove, nil
}
