package io.pipelane.switcher.sequence;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Loads the classes of this package once more, so that something else happens wherever one of them
 * leaves a synchronized block, as if another thread had come in between.
 */
final class ReleasedMonitors extends ClassLoader {
  private static final String PACKAGE = ReleasedMonitors.class.getPackageName() + ".";
  private static final ClassDesc BETWEEN = ClassDesc.of(Between.class.getName());

  private final String interrupted;

  /**
   * Loads nothing yet.
   *
   * @param interrupted the class whose blocks are left
   */
  ReleasedMonitors(Class<?> interrupted) {
    super(interrupted.getClassLoader());
    this.interrupted = interrupted.getName();
  }

  /** What happens, in the classes that this loads; belongs to one thread. */
  static final class Between {
    static Runnable happens = () -> {};
    private static final List<Throwable> FAILURES = new ArrayList<>();

    private Between() {}

    /**
     * Called by what is loaded, which would hide what is thrown here: its handlers leave the
     * monitor once more, and complain.
     */
    public static void happen() {
      try {
        happens.run();
      } catch (RuntimeException | Error e) {
        FAILURES.add(e);
      }
    }

    /** Throws what has failed. */
    static void throwFailure() {
      for (Throwable failure : FAILURES) {
        throw new AssertionError("failed in between", failure);
      }
    }
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    synchronized (getClassLoadingLock(name)) {
      Class<?> loaded = findLoadedClass(name);
      if (loaded != null) {
        return loaded;
      }
      if (!name.startsWith(PACKAGE)) {
        return super.loadClass(name, resolve);
      }
      byte[] bytes = bytes(name);
      byte[] own = name.equals(interrupted) ? interrupted(bytes) : bytes;
      return defineClass(name, own, 0, own.length);
    }
  }

  private byte[] bytes(String name) {
    String file = name.replace('.', '/') + ".class";
    try (InputStream in = Objects.requireNonNull(getParent().getResourceAsStream(file), file)) {
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static byte[] interrupted(byte[] bytes) {
    CodeTransform afterExits =
        (code, element) -> {
          code.with(element);
          if (element instanceof MonitorInstruction monitor
              && monitor.opcode() == Opcode.MONITOREXIT) {
            code.invokestatic(BETWEEN, "happen", ConstantDescs.MTD_void);
          }
        };
    ClassFile classes = ClassFile.of();
    return classes.transformClass(
        classes.parse(bytes), ClassTransform.transformingMethodBodies(afterExits));
  }
}
