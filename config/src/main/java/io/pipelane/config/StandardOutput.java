package io.pipelane.config;

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The standard output of a program, which remembers whether it could be written; Java's own passes
 * over it. That nobody reads any more, as behind {@code | head}, is no failure. Safe for any
 * thread.
 */
public final class StandardOutput extends OutputStream {
  private static final Path WHAT_IT_IS = Path.of("/proc/self/fd/1");

  private final OutputStream to;
  private final BooleanSupplier isPipe;
  private volatile @Nullable String failure;

  /**
   * All of it is written so far.
   *
   * @param isPipe whether others read it, who have gone when it cannot be written
   */
  StandardOutput(OutputStream to, BooleanSupplier isPipe) {
    this.to = to;
    this.isPipe = isPipe;
  }

  /** Has all that this process prints from here on go through one. */
  public static StandardOutput install() {
    StandardOutput output =
        new StandardOutput(new FileOutputStream(FileDescriptor.out), StandardOutput::isPipe);
    System.setOut(new PrintStream(new BufferedOutputStream(output), true, System.out.charset()));
    return output;
  }

  /** The system's word for a closed pipe is of the user's language. */
  private static boolean isPipe() {
    try {
      String kind = Files.readSymbolicLink(WHAT_IT_IS).toString();
      return kind.startsWith("pipe:") || kind.startsWith("socket:");
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * What the process exits with; says so if that is for its output's sake.
   *
   * @param ended what it would exit with otherwise
   * @param lost what it exits with when it ended with 0, and not all it printed could be written
   */
  public int exitStatus(int ended, int lost) {
    System.out.flush();
    if (failure == null) {
      return ended;
    }
    System.err.println("The output could not be written: " + failure);
    return ended == 0 ? lost : ended;
  }

  @Override
  public void write(int single) throws IOException {
    write(new byte[] {(byte) single}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    try {
      to.write(bytes, offset, length);
    } catch (IOException e) {
      if (!isPipe.getAsBoolean()) {
        failure = String.valueOf(e.getMessage());
      }
      throw e;
    }
  }
}
