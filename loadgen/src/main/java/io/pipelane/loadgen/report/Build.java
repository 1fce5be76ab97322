package io.pipelane.loadgen.report;

import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;

/**
 * The state of the load generator itself.
 *
 * @param commit that a package was made of, or else the one checked out around it, marked when
 *     changed; {@code unknown} outside both
 */
public record Build(String version, String commit) {
  /** The build that this is. */
  public static Build current() {
    String version = Build.class.getPackage().getImplementationVersion();
    String packed = System.getProperty("pipelane.commit", "");
    return new Build(
        Objects.requireNonNullElse(version, "development"),
        packed.isEmpty() ? checkedOut().orElse("unknown") : packed);
  }

  private static Optional<String> checkedOut() {
    Path classes =
        Path.of(Build.class.getProtectionDomain().getCodeSource().getLocation().getPath());
    String folder = Objects.requireNonNullElse(classes.getParent(), classes).toString();
    return CommandOutput.of("git", "-C", folder, "rev-parse", "--short=12", "HEAD")
        .map(
            commit ->
                CommandOutput.of(
                        "git", "-C", folder, "status", "--porcelain", "--untracked-files=no")
                    .filter(String::isEmpty)
                    .map(_ -> commit)
                    .orElse(commit + " with changes"));
  }
}
