package io.pipelane.config;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** The other hosts, and when a request goes to one of them. */
public record HostsConfig(
    @Key(
            about =
                "URLs of etcd's members, with commas between them, in which hosts announce"
                    + " themselves to each other, such as http://etcd-0:2379,http://etcd-1:2379",
            unset = "this host is alone")
        Optional<Addresses> etcd,
    @Key(
            about = "Where other hosts reach this one, such as http://10.0.0.5:8000",
            unset = "where it listens")
        Optional<URI> advertise,
    @Key(
            about = "What the keys in etcd begin with; hosts that share it forward to each other",
            standard = "/pipelane/hosts/")
        Text prefix,
    @Key(
            about =
                "How long a host that says nothing any more is taken to be there; whole seconds"
                    + " count",
            standard = "5s",
            min = "1s",
            max = "1h")
        Duration lease,
    @Key(
            about = "How often a host says what it has and how busy it is, at most",
            standard = "250ms",
            min = "10ms",
            max = "1m")
        Duration announceEvery,
    @Key(
            about =
                "What another host must be sooner by to be given a request that is answered here",
            standard = "1ms",
            min = "0ms",
            max = "1m")
        Duration hop,
    @Key(
            about = "How long another host may take to answer before the client is told so",
            standard = "60s",
            min = "10ms",
            max = "24h")
        Duration answerTimeout,
    @Key(
            about = "Requests that each other host is given at a time, each on its own connection",
            standard = "256",
            min = "1",
            max = "65536")
        int connections,
    @Key(
            about =
                "Certificates of the authorities that sign those of other hosts and of etcd, in PEM",
            unset = "those that Java trusts")
        Optional<Path> authorities) {}
