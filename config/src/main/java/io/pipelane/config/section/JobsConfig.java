package io.pipelane.config.section;

import java.nio.file.Path;
import java.util.Optional;

/** Inference over many items, in the background. */
public record JobsConfig(
    @Key(
            about = "Folder that jobs read their input files from and write their outputs to",
            unset = "there are no jobs")
        Optional<Path> folder,
    @Key(
            about = "Jobs that run at once; one more job of class online may run beside them",
            standard = "16",
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
                "Items between two checkpoints of a job whose model keeps state: the most that a"
                    + " crash makes it repeat",
            standard = "100",
            min = "1",
            max = "1000000")
        int checkpointIterations,
    @Key(
            about = "Jobs that the server remembers, ended ones included; it refuses more",
            standard = "1000",
            min = "1",
            max = "100000")
        int maxJobs) {}
