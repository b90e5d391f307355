// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"cmp"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// withToken passes the user's --token to kubectl in a kubeconfig that only this user can read: the
// arguments of a process are visible to every user of the machine. remove deletes the file.
func (v *verb) withToken() (remove func(), err error) {
	remove = func() {}
	if v.token == "" {
		return remove, nil
	}
	raw, err := v.d.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return remove, fmt.Errorf("read kubeconfig: %w", err)
	}
	config := raw.DeepCopy()
	name := ""
	if current := config.Contexts[v.d.Context()]; current != nil {
		name = current.AuthInfo
	}
	if given := v.d.Flags.AuthInfoName; given != nil {
		name = cmp.Or(*given, name)
	}
	name = cmp.Or(name, "kubectl-scylla")
	user := config.AuthInfos[name]
	if user == nil {
		user = clientcmdapi.NewAuthInfo()
		config.AuthInfos[name] = user
	}
	user.Token, user.TokenFile = v.token, ""
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
	v.flags = append(v.flags, "--kubeconfig="+f.Name(), "--user="+name)
	return remove, nil
}
