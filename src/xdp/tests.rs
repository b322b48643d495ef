//! AF_XDP over real veth pairs, in network namespaces of their own.
