package io.pipelane.config;

import java.nio.file.Path;
import java.util.Optional;

/** Inference over many items, in the background. */
public record JobsConfig(
    @Key(
            about =
                "Folder that jobs read their input files from and write their outputs to; without"
                    + " one there are no jobs")
        Optional<Path> folder,
    @Key(
            about = "Jobs that run at once, and one more of class online",
            standard = "2",
            min = "1",
            max = "64")
        int concurrency,
    @Key(
            about = "Items of one job that wait or run at once",
            standard = "4",
            min = "1",
            max = "1024")
        int parallelItems,
    @Key(
            about =
                "Items from one checkpoint to the next, of jobs whose model keeps state: what a crash"
                    + " costs at most",
            standard = "100",
            min = "1",
            max = "1000000")
        int checkpointIterations,
    @Key(
            about = "Jobs that are remembered, ended ones included; more are refused",
            standard = "1000",
            min = "1",
            max = "100000")
        int maxJobs) {}
