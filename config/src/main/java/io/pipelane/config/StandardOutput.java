package io.pipelane.config;

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import org.jspecify.annotations.Nullable;

/**
 * The standard output of a program, which remembers whether it could be written; Java's own passes
 * over it. That nobody reads any more, as behind {@code | head}, is no failure. Safe for any
 * thread.
 */
public final class StandardOutput extends OutputStream {
  private static final String CLOSED_PIPE = "Broken pipe";

  private final OutputStream to;
  private volatile @Nullable String failure;

  StandardOutput(OutputStream to) {
    this.to = to;
  }

  /** Has all that this process prints from here on go through one. */
  public static StandardOutput install() {
    StandardOutput output = new StandardOutput(new FileOutputStream(FileDescriptor.out));
    System.setOut(new PrintStream(new BufferedOutputStream(output), true, System.out.charset()));
    return output;
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
      if (!CLOSED_PIPE.equals(e.getMessage())) {
        failure = String.valueOf(e.getMessage());
      }
      throw e;
    }
  }
}
