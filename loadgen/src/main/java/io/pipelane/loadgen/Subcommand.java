package io.pipelane.loadgen;

import java.util.concurrent.Callable;

/**
 * A program that {@code loadgen} runs when its name is the first argument: a class annotated with
 * picocli's {@code @Command} that answers an exit status.
 *
 * <p>Modules above the load generator add theirs as services of this type.
 */
public interface Subcommand extends Callable<Integer> {}
