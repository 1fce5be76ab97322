package io.pipelane.server.cli;

import java.util.concurrent.Callable;

/**
 * A subcommand of {@code pipelane}: a class annotated with picocli's {@code @Command} that answers
 * an exit code (0 done, 1 failed, 2 wrong usage).
 *
 * <p>Modules above the server add theirs as services of this type.
 */
public interface Subcommand extends Callable<Integer> {}
