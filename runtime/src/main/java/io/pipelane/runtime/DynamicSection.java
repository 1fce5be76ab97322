package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** The dynamic section of a library of 64-bit Linux: what it tells the system's loader. */
final class DynamicSection {
  /*
   * An ELF file, little end first (System V ABI, chapters 4 and 5): the section is pairs of a tag and
   * a value, which for names is an offset into the string table. The table is given by its address
   * in memory, which the segments to load translate into a place in the file.
   */
  static final int NEEDED = 1;
  static final int RPATH = 15;
  static final int RUNPATH = 29;

  private static final long MAGIC = 0x0102_464c_457fL;
  private static final long MAGIC_MASK = 0xffff_ffff_ffffL;
  private static final int LOAD = 1;
  private static final int DYNAMIC = 2;
  private static final int STRING_TABLE = 5;

  private final MemorySegment file;

  /**
   * Looks at a file's content.
   *
   * @throws IndexOutOfBoundsException here and later, when it is no such library, or torn
   */
  DynamicSection(MemorySegment file) {
    this.file = file;
    if ((file.get(JAVA_LONG_UNALIGNED, 0) & MAGIC_MASK) != MAGIC) {
      throw new IndexOutOfBoundsException("the file is no ELF file for 64 bits");
    }
  }

  /** The names that entries of one kind refer to. */
  List<String> strings(int tag) {
    List<String> found = new ArrayList<>();
    for (long offset : values(tag)) {
      long table = placeOf(values(STRING_TABLE).getFirst());
      found.add(file.getString(table + offset));
    }
    return found;
  }

  private List<Long> values(int tag) {
    List<Long> found = new ArrayList<>();
    for (long header : headers(DYNAMIC)) {
      long begin = file.get(JAVA_LONG_UNALIGNED, header + 8);
      long end = begin + file.get(JAVA_LONG_UNALIGNED, header + 32);
      for (long entry = begin; entry < end; entry += 16) {
        if (file.get(JAVA_LONG_UNALIGNED, entry) == tag) {
          found.add(file.get(JAVA_LONG_UNALIGNED, entry + 8));
        }
      }
    }
    return found;
  }

  private long placeOf(long address) {
    for (long header : headers(LOAD)) {
      long into = address - file.get(JAVA_LONG_UNALIGNED, header + 16);
      if (into >= 0 && into < file.get(JAVA_LONG_UNALIGNED, header + 32)) {
        return file.get(JAVA_LONG_UNALIGNED, header + 8) + into;
      }
    }
    throw new IndexOutOfBoundsException("nothing is loaded at " + address);
  }

  /** Where the program headers of one kind lie. */
  private List<Long> headers(int type) {
    List<Long> found = new ArrayList<>();
    long first = file.get(JAVA_LONG_UNALIGNED, 32);
    int size = file.get(JAVA_SHORT_UNALIGNED, 54);
    int count = file.get(JAVA_SHORT_UNALIGNED, 56);
    for (int i = 0; i < count; i++) {
      long header = first + (long) i * size;
      if (file.get(JAVA_INT_UNALIGNED, header) == type) {
        found.add(header);
      }
    }
    return found;
  }
}
