"""What one changed setting of the recipe does: python -m sanne_lab.suite --setting joint=.5"""

from sanne_lab.suite.compare import main

main()
