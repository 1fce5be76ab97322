package io.pipelane.config.section;

import io.pipelane.config.value.Addresses;
import io.pipelane.config.value.Text;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** The other hosts, and when a request goes to one of them. */
public record HostsConfig(
    @Key(
            about =
                "URLs of the members of etcd, separated by commas, such as"
                    + " http://etcd-0:2379,http://etcd-1:2379. Hosts announce themselves to each"
                    + " other there",
            unset = "this host is alone")
        Optional<Addresses> etcd,
    @Key(
            about = "URL at which other hosts reach this one, such as http://10.0.0.5:8000",
            unset = "the address that this host listens on")
        Optional<URI> advertise,
    @Key(
            about =
                "Prefix of the hosts' keys in etcd. Hosts with the same prefix forward requests"
                    + " to each other",
            standard = "/pipelane/hosts/")
        Text prefix,
    @Key(
            about = "How long a silent host still counts as present, in whole seconds",
            standard = "5s",
            min = "1s",
            max = "1h")
        Duration lease,
    @Key(
            about =
                "Shortest time between two announcements of what this host has and how busy it is",
            standard = "250ms",
            min = "10ms",
            max = "1m")
        Duration announceEvery,
    @Key(
            about =
                "How much sooner another host must be able to begin a request for it to go there"
                    + " instead of being answered here",
            standard = "1ms",
            min = "0ms",
            max = "1m")
        Duration hop,
    @Key(
            about =
                "How long another host may take to answer before the client gets an error and"
                    + " others are asked first; set it below the time that clients wait, as a"
                    + " request that its client gives up marks no host",
            standard = "60s",
            min = "10ms",
            max = "24h")
        Duration answerTimeout,
    @Key(
            about =
                "Requests that each other host is given at a time, each on a connection of its"
                    + " own",
            standard = "256",
            min = "1",
            max = "65536")
        int connections,
    @Key(
            about =
                "Certificates of the authorities that sign the certificates of other hosts and of"
                    + " etcd, in PEM",
            unset = "those that Java trusts")
        Optional<Path> authorities) {}
