package io.pipelane.server.jobs;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.WholeFile;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The jobs' folder: input files, outputs, and what is remembered of jobs. Nothing outside of it is
 * read or written, whatever a client names.
 */
final class JobFiles implements AutoCloseable {
  /*
   * <file>                    inputs and finished outputs, as clients name them
   * <output>.<id>.partial     rows so far; those beyond what is committed are cut off
   * .jobs/<id>/job.json       what to do; there from the renaming of <id>.new on, until it is called
   *                           that again
   * .jobs/<id>/items.jsonl    items that came along with the request
   * .jobs/<id>/progress       how far it is
   * .jobs/<id>/state-*        two checkpoints of a state, see JobSequence
   * .jobs/<id>/end.json       how it ended
   * .jobs/<id>/job.ended.json job.json of a job that has ended where there was no room for how: a
   *                           file's other name needs none
   * .jobs/lock                held by the server that runs these jobs
   *
   * Clients' names have no segment that begins with a dot, and those of outputs do not end in
   * .partial.
   */
  static final String PARTIAL = ".partial";

  static final String SPEC = "job.json";
  static final String ENDED_SPEC = "job.ended.json";
  static final int LONGEST_PATH = 1024;

  private static final System.Logger LOG = System.getLogger(JobFiles.class.getName());
  private static final String HIDDEN = ".jobs";
  private static final int LONGEST_SEGMENT = 128;
  private static final Pattern SEGMENT =
      Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_. -]{0,%d}".formatted(LONGEST_SEGMENT - 1));

  private final Path root;
  private final Path jobs;
  private final FileChannel lockFile;

  private JobFiles(Path root, Path jobs, FileChannel lockFile) {
    this.root = root;
    this.jobs = jobs;
    this.lockFile = lockFile;
  }

  /**
   * Opens the folder, which must exist, and drops what was not submitted, or not forgotten, to its
   * end.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when another server has it
   */
  static JobFiles open(Path folder) throws IOException {
    Path root = folder.toRealPath();
    Path jobs = Files.createDirectories(root.resolve(HIDDEN));
    FileChannel lockFile =
        FileChannel.open(jobs.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    boolean locked = false;
    try {
      @SuppressWarnings("resource") // held until the channel is closed
      FileLock lock = lockFile.tryLock();
      locked = lock != null;
    } catch (OverlappingFileLockException e) {
      locked = false;
    } finally {
      if (!locked) {
        lockFile.close();
      }
    }
    if (!locked) {
      throw new StatusException(
          Status.UNAVAILABLE, "another server runs the jobs of " + folder + " (jobs.folder)");
    }
    for (Path leftover : list(jobs)) {
      if (leftover.toString().endsWith(WholeFile.DRAFT) || isNoJob(leftover)) {
        delete(leftover, JobStep.Hook.NONE);
      }
    }
    return new JobFiles(root, jobs, lockFile);
  }

  /** What was left of one, as nothing in it says what to do. */
  private static boolean isNoJob(Path path) {
    return Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)
        && Files.notExists(path.resolve(SPEC))
        && Files.notExists(path.resolve(ENDED_SPEC));
  }

  /** The jobs that are remembered. */
  List<Path> jobs() throws IOException {
    return list(jobs).stream().filter(Files::isDirectory).toList();
  }

  /** The folder of a job that is about to be submitted. */
  Path draft(String id) {
    return jobs.resolve(id + WholeFile.DRAFT);
  }

  /** The folder of a job. */
  Path of(String id) {
    return jobs.resolve(id);
  }

  /** Makes a draft the job's folder: from now on the job is there, whatever happens. */
  void publish(String id) throws IOException {
    WholeFile.flush(draft(id));
    Files.move(draft(id), of(id), StandardCopyOption.ATOMIC_MOVE);
    WholeFile.flush(jobs);
  }

  /**
   * Forgets a job, and first the rows of one that was not done. The job is there or not at all,
   * whatever happens; what is left of its folder then goes at the next start.
   *
   * @throws IOException when it is still there
   */
  void forget(JobSpec spec, JobStep.Hook hook) throws IOException {
    hook.before(JobStep.FORGET);
    Path rows = partial(spec);
    if (Files.deleteIfExists(rows)) {
      WholeFile.flush(WholeFile.folderOf(rows));
    }
    Path going = draft(spec.id());
    Files.move(of(spec.id()), going, StandardCopyOption.ATOMIC_MOVE);
    try {
      WholeFile.flush(jobs);
      delete(going, hook);
    } catch (IOException | RuntimeException e) {
      leave(going, e);
    }
  }

  /**
   * An input file as a client names it.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a name that is not allowed, {@link
   *     Status#NOT_FOUND} when there is no such file
   */
  Path input(String name) throws IOException {
    Path file = resolve(name, "input_file");
    if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
      throw new StatusException(
          Status.NOT_FOUND, "input_file \"" + name + "\" is no file in the jobs' folder");
    }
    return file;
  }

  /**
   * Where a job's items are, which are those that were submitted.
   *
   * @throws StatusException {@link Status#NOT_FOUND} or {@link Status#INVALID_ARGUMENT} when its
   *     input file is gone, or has changed
   */
  Path input(JobSpec spec) throws IOException {
    if (spec.inputFile().isEmpty()) {
      return of(spec.id()).resolve(JobRecords.ITEMS);
    }
    String name = spec.inputFile().get();
    Path file = input(name);
    if (Files.size(file) != spec.inputBytes()
        || Files.getLastModifiedTime(file, LinkOption.NOFOLLOW_LINKS).toMillis()
            != spec.inputModifiedMillis()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "input_file \"%s\" has changed since the job was submitted".formatted(name));
    }
    return file;
  }

  /**
   * An output file as a client names it.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a name that is not allowed, or that
   *     is taken
   */
  Path newOutput(String name) throws IOException {
    Path file = resolve(name, "output_file");
    if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "output_file \"" + name + "\" exists; jobs overwrite nothing, so name another");
    }
    return file;
  }

  /**
   * Looks whether the rows of a job that has all of them are there as they were written, by the
   * length of their file.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when they are not
   */
  void requireRows(JobSpec spec, Progress written) throws IOException {
    Path rows = partial(spec);
    if (Files.notExists(rows, LinkOption.NOFOLLOW_LINKS)) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "its rows were removed: " + rows.getFileName());
    }
    long bytes = Files.size(rows);
    if (bytes != written.outputBytes()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "its rows were changed: %s has %d bytes, and %d were written"
              .formatted(rows.getFileName(), bytes, written.outputBytes()));
    }
  }

  /**
   * Gives the rows of a job that is done their name. That may be gone after a loss of power where
   * it cannot be brought to disk; the next start gives it again.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when something else has it, or as
   *     {@link #requireRows}
   */
  void publishOutput(JobSpec spec, Progress written, JobStep.Hook hook) throws IOException {
    hook.before(JobStep.PUBLISH_OUTPUT);
    requireRows(spec, written);
    Path rows = partial(spec);
    Files.move(rows, newOutput(spec.outputFile()), StandardCopyOption.ATOMIC_MOVE);
    try {
      hook.before(JobStep.FLUSH_OUTPUT);
      WholeFile.flush(WholeFile.folderOf(rows));
    } catch (IOException e) {
      LOG.log(Level.WARNING, "the name of {0} is not brought to disk: {1}", output(spec), e);
    }
  }

  /**
   * Keeps how a job ended that is not done, or where that cannot be written, that it has.
   *
   * @throws IOException when neither is kept
   */
  void keepEnd(JobSpec spec, JobEnd end) throws IOException {
    Path folder = of(spec.id());
    try {
      WholeFile.write(folder.resolve(JobEnd.FILE), end.encoded());
    } catch (IOException e) {
      try {
        Path known = folder.resolve(SPEC);
        Files.move(known, folder.resolve(ENDED_SPEC), StandardCopyOption.ATOMIC_MOVE);
        WholeFile.flush(folder);
      } catch (IOException again) {
        e.addSuppressed(again);
        throw e;
      }
      LOG.log(Level.WARNING, "how job {0} ended is not kept, only that it did: {1}", spec.id(), e);
    }
  }

  /** Takes back a job that could not be submitted; what cannot be, goes at the next start. */
  void discard(String id) {
    for (Path folder : List.of(draft(id), of(id))) {
      try {
        delete(folder, JobStep.Hook.NONE);
      } catch (IOException e) {
        leave(folder, e);
      }
    }
  }

  private static void leave(Path folder, Exception cause) {
    LOG.log(Level.WARNING, "{0} was not removed: {1}", folder, cause);
  }

  /**
   * What is wrong with a file of the folder, and what to do.
   *
   * @param retry what makes sense once that is mended
   */
  String trouble(IOException cause, String retry) {
    boolean saysWhat = cause.getClass() == IOException.class; // Others name a path alone.
    return ("%s (below jobs.folder, %s); see that there is room, and that the server may write"
            + " there, then %s")
        .formatted(saysWhat ? cause.getMessage() : cause, root, retry);
  }

  /** Where a job's output will be. */
  Path output(JobSpec spec) {
    return root.resolve(spec.outputFile());
  }

  /** Where a job's rows are until it is done. */
  Path partial(JobSpec spec) {
    Path output = output(spec);
    return output.resolveSibling(output.getFileName() + "." + spec.id() + PARTIAL);
  }

  /** Checks a name, and that no link leads out of the folder. */
  private Path resolve(String name, String member) throws IOException {
    Path file = root;
    for (String segment : name.split("/", -1)) {
      if (!SEGMENT.matcher(segment).matches()) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            ("%s \"%s\" is not allowed: it is a path below the jobs' folder, of letters, digits,"
                    + " \"_\", \"-\", \".\" and spaces; its segments have %d characters at most, and"
                    + " none begins with a dot")
                .formatted(member, JobJson.shorten(name), LONGEST_SEGMENT));
      }
      file = file.resolve(segment);
    }
    Path parent = file.getParent();
    if (parent == null || !Files.isDirectory(parent)) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "%s \"%s\": its folder does not exist".formatted(member, JobJson.shorten(name)));
    }
    if (!parent.toRealPath().startsWith(root)) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "%s \"%s\" leads out of the jobs' folder".formatted(member, JobJson.shorten(name)));
    }
    return file;
  }

  private static List<Path> list(Path folder) throws IOException {
    try (Stream<Path> children = Files.list(folder)) {
      return children.sorted().toList();
    }
  }

  private static void delete(Path path, JobStep.Hook hook) throws IOException {
    if (Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
      for (Path child : list(path)) {
        delete(child, hook);
      }
    }
    hook.before(JobStep.DELETE);
    Files.deleteIfExists(path);
  }

  /** Lets another server have the folder. */
  @Override
  public void close() throws IOException {
    lockFile.close();
  }
}
