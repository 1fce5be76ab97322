package io.pipelane.lanes.cpu;

/**
 * The mapping at one stretch of addresses of what lies at another, with its page tables or without,
 * which may be refused.
 */
interface TableMoves {
  /** The system's. */
  TableMoves SYSTEM =
      new TableMoves() {
        @Override
        public boolean moveAt(long address, long bytes, long shared) {
          return LibC.moveTablesAt(address, bytes, shared);
        }

        @Override
        public boolean canMove(long shared, long bytes) {
          return LibC.canMoveTables(shared, bytes);
        }

        @Override
        public void mapSameAt(long address, long bytes, long shared) {
          LibC.mapSameAt(address, bytes, shared);
        }
      };

  /** As {@link LibC#moveTablesAt}. */
  boolean moveAt(long address, long bytes, long shared);

  /** As {@link LibC#canMoveTables}. */
  boolean canMove(long shared, long bytes);

  /** As {@link LibC#mapSameAt}. */
  void mapSameAt(long address, long bytes, long shared);
}
