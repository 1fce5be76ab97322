package io.pipelane.lanes.cuda.driver;

/** The driver's calls that map device memory under reserved addresses. */
public interface Mappings {
  /** Puts memory under reserved addresses; {@link #allowAccess} must follow. */
  void map(long address, long bytes, long handle);

  /** Lets the device read and write mapped addresses. One call for many mappings is cheaper. */
  void allowAccess(long address, long bytes);

  /** Takes the memory from under addresses, of one or several whole mappings. */
  void unmap(long address, long bytes);
}
